/** Calls `send` with 0, 1, 2, … so many times a second, spread evenly over time, until the returned function is called. */
export function atRate(perSecond: number, send: (turn: number) => void): () => void {
  let due = 0;
  let turn = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    due += ((nowMs - lastMs) / 1_000) * perSecond;
    lastMs = nowMs;
    for (; due >= 1; due -= 1) {
      send(turn);
      turn += 1;
    }
  }, 1);
  return () => clearInterval(timer);
}
