// expect: failed guest_error
// error: TypeError
tools.echo = () => "forged";
