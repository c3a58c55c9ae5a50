-- For wrk: the loads of `./dev bench scale`. Usage: wrk -s scale.lua URL -- KIND NUMBER
--   routes N   asks for each of the N routes of scale_server in turn; the order jumps, so that neighbours do not help
--   fields N   one request with N header fields of 30 bytes each, Host among them
-- The result is printed by report.lua beside this file.

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")

local STEP = 7919 -- a prime: all routes get their turn unless their number is a multiple of it

local function ask_routes(count)
  local requests, at = {}, 0
  for i = 0, count - 1 do
    requests[i] = wrk.format("GET", "/routes/" .. i .. "/1")
  end
  function request()
    at = (at + STEP) % count
    return requests[at]
  end
end

local function add_fields(count)
  for i = 2, count do
    wrk.headers[string.format("X-Field-%02d", i)] = "0123456789abcdef"
  end
end

function init(args)
  local number = tonumber(args[2])
  if args[1] == "routes" then
    ask_routes(number)
  elseif args[1] == "fields" then
    add_fields(number)
  end
end
