#!/usr/bin/env python3
"""Causal and linear causal attention in PyTorch, several ways: what Ridgeline is measured against.

causal          sdpa          scaled_dot_product_attention(is_causal=True)
                materialised  scores as an N x N array, as the original code for images does
causal_linear   chunked       masked products inside chunks of 64 tokens, a running state across chunks
                cumsum        running sums of the outer products of keys and values, all held at once
                loop          one token at a time, as the original code does

usage: as peer.py has it. WORK is causal/BxN or causal_linear/BxN: the layer on B samples of N tokens, forward and backward,
projections included (width 64, 4 heads). Errors are those against the first way of each in float64.
"""
import torch
from torch import nn
import torch.nn.functional as F

import peer

WIDTH, HEADS, CHUNK = 64, 4, 64
EXACT = {"causal": "sdpa", "causal_linear": "chunked"}
PROJECTED = ("sdpa", "materialised")
WAYS = ("sdpa", "materialised", "chunked", "cumsum", "loop")


class Attention(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.way = way
        self.query, self.key_value = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH) if way in PROJECTED else nn.Identity()

    def forward(self, x):
        b, n, _ = x.shape
        split = lambda t: t.view(b, n, HEADS, -1).transpose(1, 2)
        q = split(self.query(x))
        k, v = map(split, self.key_value(x).chunk(2, -1))
        return self.output(getattr(self, self.way)(q, k, v).transpose(1, 2).reshape(b, n, -1))

    def sdpa(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def materialised(self, q, k, v):
        n = q.shape[2]
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        return scores.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), float("-inf")).softmax(-1) @ v

    def loop(self, q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        state, keys, out = 0, 0, []
        for i in range(q.shape[2]):
            ki, qi = k[:, :, i:i + 1], q[:, :, i:i + 1]
            state, keys = state + ki.transpose(2, 3) @ v[:, :, i:i + 1], keys + ki
            out.append(qi @ state / ((qi * keys).sum(-1, keepdim=True) + 1e-10))
        return torch.cat(out, 2)

    def cumsum(self, q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        states = torch.einsum("bhne,bhno->bhneo", k, v).cumsum(2)
        return torch.einsum("bhne,bhneo->bhno", q, states) / ((q * k.cumsum(2)).sum(-1, keepdim=True) + 1e-10)

    def chunked(self, q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        b, h, n, e = q.shape
        cut = lambda t: t.reshape(b, h, n // CHUNK, CHUNK, -1)
        q, k, v = cut(q), cut(k), cut(torch.cat([v, torch.ones_like(v[..., :1])], -1))
        before = (k.transpose(-2, -1) @ v).cumsum(2)
        before = torch.cat([torch.zeros_like(before[:, :, :1]), before[:, :, :-1]], 2)
        out = (q @ before + (q @ k.transpose(-2, -1)).tril() @ v).reshape(b, h, n, -1)
        return out[..., :-1] / (out[..., -1:] + 1e-10)


def make_work(work, way):
    torch.manual_seed(0)
    batch, tokens = map(int, work.split("/")[1].split("x"))
    return peer.Attention(Attention(way), torch.randn(batch, tokens, WIDTH, generator=torch.Generator().manual_seed(0)))


def errors(work, way, folder):
    values = peer.Values(folder)
    results = lambda way, dtype: peer.results_of(peer.Attention(Attention(way), values["x"], dtype), values)
    return peer.distances(values, results(EXACT[work.split("/")[0]], torch.float64), results(way, torch.float32),
                          results(way, torch.float64))


if __name__ == "__main__":
    peer.main(__doc__, WAYS, make_work, errors)
