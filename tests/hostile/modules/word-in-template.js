// expect: completed "import('fs') and require('fs')"
return `import('fs') and require('fs')`;
