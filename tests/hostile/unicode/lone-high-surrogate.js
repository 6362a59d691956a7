// expect: completed "\ufffd"
return "\ud800";
