-- For wrk: sends so many requests at once on each connection. Usage: wrk -s pipeline.lua URL -- DEPTH
-- The result is printed by report.lua beside this file.

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")

local batch

function init(args)
  local one = wrk.format("GET", wrk.path)
  batch = one:rep(tonumber(args[1]) or 16)
end

function request()
  return batch
end
