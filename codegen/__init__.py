"""From proven ownerships to kernels: printed CUDA, NVRTC, launches, bundles.

`bundle.generate` is the whole path; `nvrtc`, `cache` and `launch` are its last stations and serve
any CUDA text; `oracle` judges what the rest makes and shares nothing with it.
"""
