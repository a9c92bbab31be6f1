"""Pinned host memory of the size that is asked for.

PyTorch rounds each pinned allocation up to a power of two, parameters and gradients alike. Here each tensor has whole pages of its own,
registered with CUDA."""

import collections
import math
import mmap

import torch


class ExactPinning:
    """Takes the place of `Tensor.pin_memory` and of asynchronous copies to the host while `install`ed.

    Tensors below `SMALLEST` bytes go PyTorch's way. What `Tensor.to` returned may be handed out again once `reuse` is called."""

    SMALLEST = 1 << 20

    def __init__(self):
        self._pin_memory = torch.Tensor.pin_memory
        self._to = torch.Tensor.to
        self._lent = []
        self._free = collections.defaultdict(list)

    def install(self):
        pinning = self

        def pin_memory(tensor, *arguments):
            if tensor.is_meta or tensor.is_pinned() or tensor.nbytes < pinning.SMALLEST:
                return pinning._pin_memory(tensor, *arguments)
            return pinning._pages(tensor).copy_(tensor)

        def to(tensor, *arguments, **options):
            to_host = bool(arguments) and arguments[0] == torch.device("cpu")
            if not (to_host and options.get("non_blocking") and tensor.is_cuda):
                return pinning._to(tensor, *arguments, **options)
            if tensor.nbytes < pinning.SMALLEST:
                return pinning._to(tensor, *arguments, **options)
            return pinning._lend(tensor).copy_(tensor, non_blocking=True)

        torch.Tensor.pin_memory = pin_memory
        torch.Tensor.to = to

    def reuse(self):
        """Call when nothing refers to what copies to the host have returned."""
        for tensor in self._lent:
            self._free[tensor.shape, tensor.dtype].append(tensor)
        self._lent.clear()

    def _lend(self, like):
        free = self._free[like.shape, like.dtype]
        tensor = free.pop() if free else self._pages(like)
        self._lent.append(tensor)
        return tensor

    def _pages(self, like):
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        pages = mmap.mmap(-1, like.nbytes, flags=flags)
        tensor = torch.frombuffer(pages, dtype=like.dtype, count=math.prod(like.shape))
        tensor.zero_()  # faulted in by all threads: registering would do it with one
        code = torch.cuda.cudart().cudaHostRegister(tensor.data_ptr(), like.nbytes, 0)
        if int(code) != 0:
            raise RuntimeError(f"pinning {like.nbytes} bytes failed: CUDA error {int(code)}")
        return tensor.view(like.shape)
