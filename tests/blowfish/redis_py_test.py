"""redis-py against blowfish-server, as an application would use it: redis_py_test.py PORT"""

import random
import sys
import threading

import redis


def check(condition, what):
    if not condition:
        sys.exit(f"redis_py_test: {what}")


def main():
    port = int(sys.argv[1])
    client = redis.Redis(port=port, decode_responses=False)
    client.flushall()
    check(client.config_resetstat() is True, "CONFIG RESETSTAT")
    check(client.ping(), "no PONG")
    check(client.set(b"k\0\xff", b"v\r\n\0") is True, "SET is not OK")
    check(client.get(b"k\0\xff") == b"v\r\n\0", "GET differs from what was SET")
    check(client.set("k", "1", nx=True) is True, "SET NX where nothing is")
    check(client.set("k", "2", nx=True) is None, "SET NX where something is")
    check(client.set("k", "3", xx=True, get=True) == b"1", "SET XX GET")
    check(client.getset("k", "4") == b"3", "GETSET")
    check(client.setnx("k", "5") is False, "SETNX")
    check(client.strlen("k") == 1, "STRLEN")
    try:
        client.set("k", "v", ex=10)
        check(False, "SET EX is not refused")
    except redis.ResponseError as error:
        check("expire" in str(error), f"SET EX: {error}")

    model = {f"key{i}".encode(): f"value{i}".encode() for i in range(500)}
    check(client.mset(model) is True, "MSET")
    keys = random.Random(1).sample(sorted(model), 100)
    check(client.mget(keys) == [model[key] for key in keys], "MGET")
    check(set(client.scan_iter(match="key*", count=7)) == set(model), "SCAN")
    check(client.delete(*keys) == 100, "DEL")
    check(client.exists(*keys) == 0, "EXISTS")
    check(client.dbsize() == 402, "DBSIZE")

    with client.pipeline(transaction=False) as pipeline:
        for i in range(300):
            pipeline.set(f"p{i}", i).get(f"p{i}")
        answers = pipeline.execute()
    check(answers[1::2] == [str(i).encode() for i in range(300)], "a pipeline reads its writes")

    try:
        client.pipeline().set("t", "1").set("t", "2").delete("k").execute()
        check(False, "a transaction is not refused")
    except redis.ResponseError as error:
        check("transaction=False" in str(error), f"a transaction: {error}")
    check(client.exists("t") == 0 and client.exists("k") == 1, "a refused transaction did something")
    # One after the other on the pool's connection, which serves other commands then.
    check(client.execute_command("MULTI") in (b"OK", True), "MULTI")
    check(client.execute_command("DISCARD") in (b"OK", True), "DISCARD")
    check(client.get("k") == b"4", "GET after DISCARD")
    try:
        client.transaction(lambda pipeline: pipeline.set("t", "1"), "k")
        check(False, "WATCH is not refused")
    except redis.ResponseError as error:
        check("WATCH" in str(error), f"WATCH: {error}")
    check(client.exists("t") == 0, "a refused WATCH did something")

    def work(number):
        mine = redis.Redis(port=port)
        for i in range(100):
            mine.set(f"t{number}", i)
            check(mine.get(f"t{number}") == str(i).encode(), "a thread reads its own write")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    check(client.info()["role"] == "master", "INFO")
    calls = client.info("commandstats")
    check(calls["cmdstat_mset"]["calls"] == 1, f"INFO commandstats: {calls}")
    check(calls["cmdstat_set"]["failed_calls"] >= 1, f"INFO commandstats: {calls}")
    check(calls["cmdstat_get"]["usec_per_call"] > 0, f"INFO commandstats: {calls}")
    latencies = client.info("latencystats")["latency_percentiles_usec_get"]
    check(0 < latencies["p50"] <= latencies["p99"] <= latencies["p99.9"], f"INFO: {latencies}")
    keys = client.info("keyspace")["db0"]
    check(keys == {"keys": client.dbsize(), "expires": 0, "avg_ttl": 0}, f"INFO keyspace: {keys}")
    check("cmdstat_get" not in client.info(), "INFO has more than the default sections")
    check(client.config_resetstat() is True, "CONFIG RESETSTAT")
    check("cmdstat_get" not in client.info("commandstats"), "CONFIG RESETSTAT left something")
    check(client.config_get("save") == {"save": ""}, "CONFIG GET")
    client.client_setname("me")
    check(client.client_getname() == "me", "CLIENT GETNAME")
    check(client.execute_command("COMMAND COUNT") > 20, "COMMAND COUNT")
    client.flushall()
    check(client.dbsize() == 0, "FLUSHALL")


main()
