// expect: completed "```js"
return "```js";
