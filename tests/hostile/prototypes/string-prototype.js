// expect: completed "abc"
for (const k of Object.getOwnPropertyNames(String.prototype)) if (!["constructor", "length"].includes(k)) String.prototype[k] = () => "forged";
return await tools.echo({ value: "abc" });
