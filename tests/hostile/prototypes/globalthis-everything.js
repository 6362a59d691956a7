// expect: completed {"survived": true}
for (const k of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[k]; } catch {}
/* half-way */ return await tools.echo({ value: { survived: true } });
