// expect: failed guest_error
new tools.echo({ value: 1 });
