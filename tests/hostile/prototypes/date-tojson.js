// expect: completed "mine"
// why: a toJSON that is not Date's own is the program's, and is honoured
Date.prototype.toJSON = () => "mine"; return new Date(0);
