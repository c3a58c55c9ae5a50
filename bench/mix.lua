-- For wrk: asks for the paths of a file, one a line, in that order and then again from the first.
-- Usage: wrk -s mix.lua URL -- FILE PREFIX, where PREFIX comes before each path. The result is printed by report.lua beside this file.

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")

local requests, last = {}, 0

function init(args)
  for path in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("GET", args[2] .. path)
  end
end

function request()
  last = last % #requests + 1
  return requests[last]
end
