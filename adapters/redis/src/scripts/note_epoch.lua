-- Raises the counter of epochs to one that was seen. KEYS: the counter. ARGV: the epoch, in decimal
-- as INCR has it; Lua's numbers hold 53 bits, so digits are compared. The counter is written again if
-- it is there already, so that WAIT waits for it (see write.lua).
local seen, old = ARGV[1], redis.call('GET', KEYS[1]) or '0'
local newer = #seen > #old or (#seen == #old and seen > old)
redis.call('SET', KEYS[1], newer and seen or old)
return redis.status_reply('OK')
