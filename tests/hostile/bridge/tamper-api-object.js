// expect: failed guest_error
API.read = () => "forged";
