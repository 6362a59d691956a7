// expect: completed "<script>import x</script>"
return "<script>import x</script>";
