// Starts the binary that FLASHLANE_BIN names on a free loopback port and stops it when the tests are over.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after } from 'node:test';

export async function serve() {
  const bin = process.env.FLASHLANE_BIN;
  if (!bin) throw new Error('FLASHLANE_BIN must name the flashlane binary to test');
  const child = spawn(bin, ['serve', '--listen', '127.0.0.1:0', '--log-format', 'json'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const log = [];
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line);
      if (line.includes('"message":"serving"')) resolve(JSON.parse(line).address);
    });
    child.on('exit', (code) => reject(new Error(`flashlane ended with ${code} before it served:\n${log.join('\n')}`)));
  });
  after(async () => {
    const gone = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    await gone;
  });
  return { url, log };
}

// until asks again until ask gives something true, for at most five seconds.
export async function until(ask, what) {
  for (const end = Date.now() + 5000; Date.now() < end; ) {
    if (await ask()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`it did not come to pass within 5 s: ${what}`);
}
