// expect: completed []
return (await API.list("nope/")).files;
