// expect: failed module_access_denied
export const a = 1;
