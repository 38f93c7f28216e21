/* The released tokenizer and configuration as read-only data; see assets.h. */
    .section .rodata
    .balign 16
    .global kDeepinferTokenizerGz
kDeepinferTokenizerGz:
    .incbin DEEPINFER_ASSET_TOKENIZER_GZ
    .global kDeepinferTokenizerGzEnd
kDeepinferTokenizerGzEnd:
    .balign 16
    .global kDeepinferConfig
kDeepinferConfig:
    .incbin DEEPINFER_ASSET_CONFIG
    .global kDeepinferConfigEnd
kDeepinferConfigEnd:
    .section .note.GNU-stack, "", %progbits
