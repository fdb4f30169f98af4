// The glue of the wasm module would be here.
