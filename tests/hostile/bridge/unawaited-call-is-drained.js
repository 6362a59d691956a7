// expect: completed "returned"
// calls: ["echo ok"]
tools.echo({ value: 1 }); return "returned";
