-- For wrk: sends DEPTH pipelined requests at once on each connection. report.lua prints the result.
-- Usage: wrk -s pipeline.lua URL -- DEPTH

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")

local batch

function init(args)
  local one = wrk.format("GET", wrk.path)
  batch = one:rep(tonumber(args[1]) or 16)
end

function request()
  return batch
end
