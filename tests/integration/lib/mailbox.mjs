// What arrived and was not asked for yet. `take` waits for the first item that `choose` accepts.
const PATIENCE_MS = 5000;

function describe({ conn, request, ...item }) {
  return JSON.stringify(item.message ?? item).slice(0, 600);
}

export class Mailbox {
  constructor(owner) {
    this.owner = owner;
    this.items = [];
    this.waiting = new Set();
  }

  push(item) {
    this.items.push(item);
    for (const look of [...this.waiting]) look();
  }

  take(choose, what, patienceMs = PATIENCE_MS) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const index = this.items.findIndex(choose);
        if (index < 0) return false;
        finish();
        resolve(this.items.splice(index, 1)[0]);
        return true;
      };
      const timer = setTimeout(() => {
        finish();
        const there = this.items.map(describe);
        reject(new Error(`${this.owner}: ${what} did not come; there is: ${there.join('\n  ') || 'nothing'}`));
      }, patienceMs);
      const finish = () => {
        clearTimeout(timer);
        this.waiting.delete(look);
      };
      if (!look()) this.waiting.add(look);
    });
  }
}
