// expect: completed "quiet"
const t = setTimeout(() => { throw new Error("fired"); }, 1); clearTimeout(t); await new Promise((r) => setTimeout(r, 5)); return "quiet";
