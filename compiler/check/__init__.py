"""`gigatok-compile --check-grammar`: a grammar by itself, without a vocabulary: what runs it, is it right, how fast is it."""
