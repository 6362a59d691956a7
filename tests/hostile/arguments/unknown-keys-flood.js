// expect: completed "invalid_arguments"
// why: what is wrong is told for a few of them; telling all of them held the host for half a minute
const o = {}; for (let i = 0; i < 100000; i++) o["valu" + i] = i;
return await tools.echo(o).catch((e) => e.code);
