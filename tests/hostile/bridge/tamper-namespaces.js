// expect: failed guest_error
namespaces.evil = {};
