-- Sends one prepared request again and again, each time with an id of its own, and prints one line of JSON.
-- env: REQUEST (a file with the whole request, id 100000000 wherever an id belongs), COPIES (how many finished
-- requests to make before the clock runs; 0: each is made when it is sent)
--
-- wrk costs about as much as the fastest server, and more would hide what it measures: ids have a fixed width,
-- so that a request is its parts put together, and large ones are not even that.
local first = 100000000
local threads = {}

function setup(thread)
  thread:set("offset", #threads * 100000000)
  table.insert(threads, thread)
end

local function split(text)
  local parts, from = {}, 1
  while true do
    local at, to = string.find(text, tostring(first), from, true)
    if not at then break end
    table.insert(parts, string.sub(text, from, at - 1))
    from = to + 1
  end
  table.insert(parts, string.sub(text, from))
  return parts
end

function init()
  local file = assert(io.open(os.getenv("REQUEST"), "rb"))
  local parts = split(file:read("*a"))
  file:close()
  n, copies = first + offset, tonumber(os.getenv("COPIES") or "0")
  if copies > 0 then
    made = {}
    for index = 1, copies do made[index] = table.concat(parts, tostring(n + index)) end
  elseif #parts == 2 then
    before, after = parts[1], parts[2]
  else
    pieces = parts
  end
end

function request()
  n = n + 1
  if before then return before .. n .. after end
  if made then return made[n % copies + 1] end
  return table.concat(pieces, tostring(n))
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('RESULT {"rps":%.1f,"p50_us":%d,"p99_us":%d,"n":%d,"errors":%d,"length":%.1f}\n',
    summary.requests / (summary.duration / 1e6), latency:percentile(50), latency:percentile(99), summary.requests,
    e.connect + e.read + e.write + e.status + e.timeout, summary.bytes / math.max(summary.requests, 1)))
end
