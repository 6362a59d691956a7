// expect: completed []
const stacks = [new Error().stack]; try { new URL("nope"); } catch (e) { stacks.push(e.stack); } try { structuredClone({ get a() { throw new Error(); } }); } catch (e) { stacks.push(e.stack); }
try { await tools.fail({}); } catch (e) { stacks.push(e.stack); }
return stacks.join("").split("\n").filter((l) => l && !/^    at .*(\(native\)|\(program:\d+:\d+\))$/.test(l));
