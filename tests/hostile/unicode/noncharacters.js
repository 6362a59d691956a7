// expect: completed "\uffff\ufdd0"
return "\uffff\ufdd0";
