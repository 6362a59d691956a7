// expect: failed module_access_denied
export default 1;
