// expect: failed module_access_denied
return import.meta.url;
