// expect: completed 16
for (let i = 0; i < 16; i++) tools.echo({ value: i }); return 16;
