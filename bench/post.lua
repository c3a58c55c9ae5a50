-- For wrk: sends POST requests with the bytes of a file as body. report.lua prints the result.
-- Usage: wrk -s post.lua URL -- FILE

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")

function init(args)
  local file = assert(io.open(args[1], "rb"))
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/octet-stream"
  wrk.body = file:read("*a")
  file:close()
end
