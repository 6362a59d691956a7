// expect: completed true
const t = await tools.nasty({ kind: "text" }); return t.includes("\u2028") && t.includes("</script>") && t.includes("\0");
