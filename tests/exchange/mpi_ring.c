// SPDX-License-Identifier: Apache-2.0
// A small MPI program: messages around a ring and a reduction, whose output says whether all was right.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;

  long wrong = 0, moved = 0;
  for (int words = 1; words <= 1 << 17; words *= 8) {
    long* out = malloc(sizeof(long) * (size_t)words);
    long* in = malloc(sizeof(long) * (size_t)words);
    for (int repeat = 0; repeat < 20; ++repeat) {
      for (int i = 0; i < words; ++i) out[i] = rank * 1000003L + repeat * 101L + i;
      MPI_Request requests[2];
      MPI_Irecv(in, words, MPI_LONG, left, words + repeat, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(out, words, MPI_LONG, right, words + repeat, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < words; ++i) wrong += in[i] != left * 1000003L + repeat * 101L + i;
      moved += words;
    }
    free(out);
    free(in);
  }
  // A receive that is canceled.
  long never;
  int canceled;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&never, 1, MPI_LONG, left, 32000, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &canceled);

  long sums[3] = {wrong, moved, canceled};
  MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d ranks moved %ld words, %ld wrong, %ld receives canceled\n", ranks, sums[1], sums[0], sums[2]);
  }
  MPI_Finalize();
  return sums[0] == 0 ? 0 : 1;
}
