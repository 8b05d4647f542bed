import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import redis.clients.jedis.*;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;

/**
 * Judges a server by Jedis. The server's port, its abilities and the command that kills and restarts it
 * are in JUDGE_PORT, JUDGE_ABILITIES and JUDGE_RESTART.
 */
public class Judge {
  static final HostAndPort ADDRESS =
      new HostAndPort("127.0.0.1", Integer.parseInt(System.getenv("JUDGE_PORT")));
  static final List<String> ABILITIES =
      List.of(Objects.requireNonNullElse(System.getenv("JUDGE_ABILITIES"), "").split(" "));

  static void expect(Object want, Object got, String what) {
    if (!Objects.deepEquals(want, got)) {
      throw new AssertionError(what + ": " + got + ", not " + want);
    }
  }

  static void expectError(Runnable call, String what) {
    try {
      call.run();
    } catch (JedisDataException error) {
      return;
    }
    throw new AssertionError(what + " does not raise JedisDataException");
  }

  static void strings(RedisClient c) {
    expect("OK", c.set("a", "1"), "SET");
    expect("1", c.get("a"), "GET");
    expect(null, c.get("missing"), "GET of a missing key");
    expect(null, c.set("a", "2", SetParams.setParams().nx()), "SET NX");
    expect("1", c.setGet("a", "2", SetParams.setParams().xx()), "SET XX GET");
    expect(0L, c.setnx("a", "3"), "SETNX");
    expect(1L, c.strlen("a"), "STRLEN");
    expect("string", c.type("a"), "TYPE");
    expect("OK", c.mset("b", "x", "c", "y"), "MSET");
    expect(Arrays.asList("x", null, "y"), c.mget("b", "missing", "c"), "MGET");
    expect(2L, c.exists("a", "b", "missing"), "EXISTS");
    expect(3L, c.del("a", "b", "c", "missing"), "DEL");
  }

  static void values(RedisClient c) {
    byte[] all = new byte[256];
    for (int i = 0; i < 256; ++i) all[i] = (byte) i;
    byte[] large = new byte[1 << 20];
    for (int i = 0; i < large.length; ++i) large[i] = (byte) (i * 7);
    byte[] crlf = "\r\n$-1\r\n".getBytes(StandardCharsets.UTF_8);
    for (byte[] value : new byte[][] {all, {}, large, crlf}) {
      expect("OK", c.set(all, value), "SET");
      expect(true, Arrays.equals(value, c.get(all)), "a value of " + value.length + " bytes");
    }
    expect(1L, c.del(all), "DEL");
  }

  static void pipelines(RedisClient c) {
    List<Object> want = new ArrayList<>();
    try (Pipeline pipeline = c.pipelined()) {
      for (int i = 0; i < 1000; ++i) {
        pipeline.set("p" + i, "v" + i);
        want.add("OK");
      }
      for (int i = 999; i >= 0; --i) {
        pipeline.get("p" + i);
        want.add("v" + i);
      }
      expect(want, pipeline.syncAndReturnAll(), "a pipeline");
    }
    Set<String> found = new java.util.HashSet<>();
    String cursor = ScanParams.SCAN_POINTER_START;
    do {
      var page = c.scan(cursor, new ScanParams().match("p*").count(100));
      found.addAll(page.getResult());
      cursor = page.getCursor();
    } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
    expect(1000, found.size(), "SCAN");
  }

  static void errors(RedisClient c) {
    expectError(() -> c.sendCommand(() -> "NOSUCH".getBytes()), "an unknown command");
    expectError(() -> c.sendCommand(Protocol.Command.GET), "GET without a key");
    expect("PONG", c.ping(), "PING");
  }

  static void abilities(RedisClient c) throws Exception {
    Callable<Object> transaction = () -> {
      try (AbstractTransaction t = c.multi()) {
        t.set("t", "1");
        t.get("t");
        return t.exec();
      }
    };
    if (ABILITIES.contains("transactions")) {
      expect(List.of("OK", "1"), transaction.call(), "MULTI");
    } else {
      try {
        transaction.call();
        throw new AssertionError("MULTI is not refused");
      } catch (JedisException refused) {
        System.out.println("MULTI: " + refused.getMessage());
      }
    }
    Runnable expire = () -> c.set("e", "1", SetParams.setParams().px(50));
    if (ABILITIES.contains("expiry")) {
      expire.run();
      Thread.sleep(100);
      expect(null, c.get("e"), "a key that expired");
    } else {
      expectError(expire, "SET PX");
    }
    if (ABILITIES.contains("incr")) {
      expect(c.incr("n") + 1, c.incr("n"), "INCR");
    } else {
      expectError(() -> c.incr("n"), "INCR");
    }
  }

  static void crash(RedisClient c) throws Exception {
    Process restart = new ProcessBuilder("sh", "-c", System.getenv("JUDGE_RESTART")).inheritIO().start();
    List<Integer> acknowledged = new ArrayList<>();
    int failed = 0;
    for (int i = 0, after = 0; after < 200; ++i) {
      try {
        c.set("k" + i, "" + i);
        acknowledged.add(i);
        if (!restart.isAlive()) ++after;
      } catch (JedisException lost) {
        if (++failed > 1000) throw new AssertionError("the client does not reconnect", lost);
        Thread.sleep(10);
      }
    }
    expect(0, restart.waitFor(), "the restart");
    for (int i : acknowledged) expect("" + i, c.get("k" + i), "an acknowledged write");
    System.out.println(acknowledged.size() + " acknowledged writes kept, " + failed + " failed");
  }

  static void connections(RedisProtocol protocol) throws Exception {
    var threads = Executors.newFixedThreadPool(100);
    List<Future<?>> all = new ArrayList<>();
    for (int n = 0; n < 100; ++n) {
      int client = n;
      all.add(threads.submit(() -> {
        try (RedisClient c = connect(protocol)) {
          for (int i = 0; i < 20; ++i) {
            c.set("c" + client + ":" + i, client + " " + i);
            expect(client + " " + i, c.get("c" + client + ":" + i), "GET");
          }
        }
      }));
    }
    for (var one : all) one.get();
    threads.shutdown();
  }

  static RedisClient connect(RedisProtocol protocol) {
    return RedisClient.builder().hostAndPort(ADDRESS)
        .clientConfig(DefaultJedisClientConfig.builder().protocol(protocol).build()).build();
  }

  public static void main(String[] arguments) throws Exception {
    for (RedisProtocol protocol : List.of(RedisProtocol.RESP2, RedisProtocol.RESP3)) {
      try (RedisClient c = connect(protocol)) {
        expect("OK", c.flushAll(), "FLUSHALL");
        strings(c);
        values(c);
        pipelines(c);
        errors(c);
        abilities(c);
        crash(c);
        connections(protocol);
      }
      System.out.println(protocol + " passed");
    }
  }
}
