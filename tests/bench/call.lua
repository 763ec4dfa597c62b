-- One tools/call, over and over. HF_SESSION is the session's id, HF_VERSION the protocol version, HF_BODY the message.
-- With HF_EXPECT each answer must contain that text; it costs time, so measured runs go without.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json, text/event-stream"
wrk.headers["MCP-Protocol-Version"] = os.getenv("HF_VERSION")
wrk.headers["Mcp-Session-Id"] = os.getenv("HF_SESSION")
wrk.body = os.getenv("HF_BODY")

local threads = {}
local expected = os.getenv("HF_EXPECT")
wrong = 0

function setup(thread)
  table.insert(threads, thread)
end

if expected then
  function response(status, _, body)
    if status ~= 200 or not body:find(expected, 1, true) then
      wrong = wrong + 1
    end
  end
end

function done(summary, latency)
  local e = summary.errors
  local errors = e.connect + e.read + e.write + e.status + e.timeout
  for _, thread in ipairs(threads) do
    errors = errors + thread:get("wrong")
  end
  io.write(string.format('\n{"requests":%d,"us":%d,"bytes":%d,"p50":%d,"p99":%d,"errors":%d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99), errors))
end
