// expect: completed "💥𝒳"
return await tools.echo({ value: "💥𝒳" });
