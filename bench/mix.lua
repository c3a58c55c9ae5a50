-- For wrk: requests the paths of a file, one per line, in this order and repeatedly. PREFIX is put
-- before each path. report.lua prints the result.
-- Usage: wrk -s mix.lua URL -- FILE PREFIX

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
