// A few lines of TAP: named cases, each with its own clean-up, run one after the other.
let count = 0;
let failures = 0;

// Runs `body({ defer, comment })`; what it defers runs afterwards, newest first, also when it throws.
export async function test(name, body, { timeoutMs = 20000 } = {}) {
  const cleanups = [];
  const notes = [];
  const context = { defer: (action) => cleanups.push(action), comment: (text) => notes.push(text) };
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${timeoutMs} ms`)), timeoutMs);
  });
  const began = Date.now();
  let problem = null;
  try {
    await Promise.race([body(context), late]);
  } catch (error) {
    problem = error;
  }
  clearTimeout(timer);
  for (const action of cleanups.reverse()) {
    try {
      await action();
    } catch (error) {
      problem ??= error;
    }
  }
  report(name, problem, notes, Date.now() - began);
}

export function report(name, problem, notes = [], ms = 0) {
  count++;
  console.log(`${problem ? 'not ok' : 'ok'} ${count} - ${name}`);
  if (ms > 3000) console.log(`# it took ${ms} ms`);
  if (problem) {
    failures++;
    for (const line of [problem.stack ?? problem, ...notes].join('\n').split('\n')) console.log(`# ${line}`);
  }
}

export function skip(name, why) {
  count++;
  console.log(`ok ${count} - ${name} # SKIP ${why}`);
}

// Prints the plan and sets the exit code.
export function done() {
  console.log(`1..${count}`);
  process.exitCode = failures > 0 ? 1 : 0;
}
