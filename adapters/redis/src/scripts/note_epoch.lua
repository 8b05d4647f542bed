-- Raises the counter of epochs to one that was seen. KEYS: the counter. ARGV: the epoch, in decimal
-- as INCR has it; Lua's numbers hold 53 bits, so digits are compared.
local seen, old = ARGV[1], redis.call('GET', KEYS[1]) or '0'
if #seen > #old or (#seen == #old and seen > old) then redis.call('SET', KEYS[1], seen) end
return redis.status_reply('OK')
