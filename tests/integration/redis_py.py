#!/usr/bin/env python3
"""redis-py, and its client of Redis Cluster, against nodes of a deployment.

Usage: redis_py.py OPTIONS PORT [PORT...]

OPTIONS: keyword arguments of the clients, in JSON.
"""

import json
import sys
import threading

import redis
from redis.cluster import ClusterNode, RedisCluster


OPTIONS = json.loads(sys.argv[1])


def check(what, got, expected):
    if got != expected:
        sys.exit(f"{what}: got {got!r}, expected {expected!r}")


def plain(port, other_port):
    one, other = redis.Redis(port=port, **OPTIONS), redis.Redis(port=other_port, **OPTIONS)
    for i in range(200):
        check("set", one.set(f"plain{i}", i), True)
    check("mget", other.mget([f"plain{i}" for i in range(200)]), [b"%d" % i for i in range(200)])
    pipeline = one.pipeline()  # MULTI and EXEC
    pipeline.incr("{t}a").incr("{t}a").get("{t}a").set("{t}b", "x")
    check("pipeline", pipeline.execute(), [1, 2, b"2", True])
    check("transaction", one.transaction(lambda p: (p.get("{t}a"), p.multi(), p.incr("{t}a")),
                                         "{t}a"), [3])
    pipeline = one.pipeline(transaction=False)
    for i in range(200):
        pipeline.incr(f"plain{i}")
    check("pipeline without MULTI", pipeline.execute(), list(range(1, 201)))
    check("scan", {key for key in other.scan_iter("plain*")}, {b"plain%d" % i for i in range(200)})
    check("delete", one.delete(*[f"plain{i}" for i in range(200)]), 200)


def cluster(ports):
    client = RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", port) for port in ports], **OPTIONS)
    check("nodes", len(client.get_primaries()), len(ports))
    for i in range(200):
        check("cluster set", client.set(f"cluster{i}", i), True)
    for i in range(200):
        check("cluster get", client.get(f"cluster{i}"), b"%d" % i)
    check("cluster mget", client.mget_nonatomic([f"cluster{i}" for i in range(20)]),
          [b"%d" % i for i in range(20)])
    pipeline = client.pipeline()
    for i in range(200):
        pipeline.incr(f"cluster{i}")
    check("cluster pipeline", pipeline.execute(), list(range(1, 201)))

    def count():
        for _ in range(100):
            client.incr("{c}sum")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("increments of several threads", client.get("{c}sum"), b"400")


plain(int(sys.argv[2]), int(sys.argv[-1]))
cluster([int(port) for port in sys.argv[2:]])
print("passed")
