// expect: failed invalid_input
// calls: []
}; await tools.echo({ value: 1 }); {
