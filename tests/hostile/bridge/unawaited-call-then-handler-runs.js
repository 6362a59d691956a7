// expect: completed "returned"
// output: ["handled"]
tools.echo({ value: 1 }).then(() => text("handled")); return "returned";
