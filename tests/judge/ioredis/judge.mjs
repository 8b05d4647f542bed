// Judges a server by ioredis. The server's port, its abilities and the command that kills and
// restarts it are in JUDGE_PORT, JUDGE_ABILITIES and JUDGE_RESTART.
import assert from 'node:assert/strict';
import { exec } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis, ReplyError } from 'ioredis';

const port = Number(process.env.JUDGE_PORT);
const abilities = new Set((process.env.JUDGE_ABILITIES ?? '').split(' '));
const numbers = (n) => [...Array(n).keys()];

function connect(options) {
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50, ...options });
  client.on('error', () => {}); // the commands report it
  return client;
}

async function strings(client) {
  assert.equal(await client.set('a', '1'), 'OK');
  assert.equal(await client.get('a'), '1');
  assert.equal(await client.get('missing'), null);
  assert.equal(await client.set('a', '2', 'NX'), null);
  assert.equal(await client.set('a', '2', 'XX', 'GET'), '1');
  assert.equal(await client.setnx('a', '3'), 0);
  assert.equal(await client.getset('a', '4'), '2');
  assert.equal(await client.strlen('a'), 1);
  assert.equal(await client.type('a'), 'string');
  await client.mset({ b: 'x', c: 'y' });
  assert.deepEqual(await client.mget('b', 'missing', 'c'), ['x', null, 'y']);
  assert.equal(await client.exists('a', 'b', 'missing'), 2);
  assert.equal(await client.del('a', 'b', 'c', 'missing'), 3);
}

async function values(client) {
  const all = Buffer.from(numbers(256));
  const large = Buffer.alloc(1 << 20, all);
  for (const value of [all, Buffer.alloc(0), large, Buffer.from('\r\n$-1\r\n')]) {
    await client.set(all, value);
    assert.ok(value.equals(await client.getBuffer(all)), `a value of ${value.length} bytes`);
  }
  assert.equal(await client.del(all), 1);
}

async function pipelines(client) {
  const pipeline = client.pipeline();
  numbers(1000).forEach((i) => pipeline.set(`p${i}`, `v${i}`));
  numbers(1000).forEach((i) => pipeline.get(`p${999 - i}`));
  const replies = await pipeline.exec();
  assert.deepEqual(replies, [
    ...numbers(1000).map(() => [null, 'OK']), ...numbers(1000).map((i) => [null, `v${999 - i}`]),
  ]);
  const found = new Set();
  for await (const keys of client.scanStream({ match: 'p*', count: 100 })) {
    keys.forEach((key) => found.add(key));
  }
  assert.equal(found.size, 1000);
}

async function automatic() {
  const client = connect({ enableAutoPipelining: true });
  const got = await Promise.all(numbers(1000).map((i) => client.get(`p${i}`)));
  assert.deepEqual(got, numbers(1000).map((i) => `v${i}`));
  client.disconnect();
}

async function connections() {
  const clients = numbers(100).map(() => connect());
  await Promise.all(clients.map(async (client, c) => {
    for (const i of numbers(20)) {
      await client.set(`c${c}:${i}`, `${c} ${i}`);
      assert.equal(await clients[(c + 1) % 100].get(`c${c}:${i}`), `${c} ${i}`);
    }
  }));
  await Promise.all(clients.map((client) => client.quit()));
}

async function errors(client) {
  await assert.rejects(client.call('NOSUCH'), ReplyError);
  await assert.rejects(client.call('GET'), ReplyError);
  const [failed, worked] = await client.pipeline().call('NOSUCH').ping().exec();
  assert.ok(failed[0] instanceof ReplyError);
  assert.deepEqual(worked, [null, 'PONG']);
}

async function abilitiesOf(client) {
  const set = () => client.multi().set('t', '1').get('t').exec();
  const expire = () => client.set('e', '1', 'PX', 50);
  const increase = () => client.incr('n');
  if (abilities.has('transactions')) assert.deepEqual(await set(), [[null, 'OK'], [null, '1']]);
  else await assert.rejects(set(), ReplyError);
  if (abilities.has('expiry')) {
    await expire();
    await new Promise((done) => setTimeout(done, 100));
    assert.equal(await client.get('e'), null);
  } else await assert.rejects(expire(), ReplyError);
  if (abilities.has('incr')) {
    await Promise.all(numbers(100).map(increase));
    assert.equal(await client.get('n'), '100');
  } else await assert.rejects(increase(), ReplyError);
}

// A SET without an answer is sent again after the reconnect, which is harmless.
async function crash(client) {
  const restarted = promisify(exec)(process.env.JUDGE_RESTART);
  const acknowledged = [];
  let failed = 0, after = 0, done = false;
  restarted.finally(() => { done = true; }).catch(() => {});
  for (let i = 0; after < 200; ++i) {
    const ok = await client.set(`k${i}`, `${i}`).then(() => true, () => false);
    if (ok) acknowledged.push(i); else ++failed;
    if (ok && done) ++after;
    assert.ok(i < 1e6, 'the client does not reconnect');
  }
  await restarted;
  for (const i of acknowledged) assert.equal(await client.get(`k${i}`), `${i}`, `lost write ${i}`);
  console.log(`${acknowledged.length} acknowledged writes kept, ${failed} failed`);
}

const client = connect();
await client.flushall();
for (const part of [strings, values, pipelines, automatic, errors, abilitiesOf, crash, connections]) {
  console.log(part.name);
  await part(client);
}
client.disconnect();
