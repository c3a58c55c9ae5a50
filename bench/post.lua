-- For wrk: sends a POST with the bytes of a file as its body. Usage: wrk -s post.lua URL -- FILE
-- The result is printed by report.lua beside this file.

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")

function init(args)
  local file = assert(io.open(args[1], "rb"))
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/octet-stream"
  wrk.body = file:read("*a")
  file:close()
end
