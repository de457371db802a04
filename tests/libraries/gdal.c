/* SPDX-License-Identifier: Apache-2.0 */
/* GDAL registers its drivers, and keeps options, for the process. */
#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <ogr_srs_api.h>

#include "work.h"

enum { N = 64 };

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  char text[100];
  double east = 10 + rank % 20, north = 50, sum = 0;
  static float cells[N * N];
  GDALAllRegister();
  snprintf(text, sizeof text, "%d", rank);
  CPLSetConfigOption("WORK_RANK", text);
  work_mix();
  sum += 100 * atoi(CPLGetConfigOption("WORK_RANK", "-1"));
  for (int i = 0; i < N * N; i++) cells[i] = (float)(i % 17 + rank);
  /* all ranks use the same name: the file is in the library's memory */
  GDALDatasetH set =
      GDALCreate(GDALGetDriverByName("GTiff"), "/vsimem/work.tif", N, N, 1, GDT_Float32, NULL);
  WORK(set != NULL);
  WORK(GDALRasterIO(GDALGetRasterBand(set, 1), GF_Write, 0, 0, N, N, cells, N, N, GDT_Float32, 0,
                    0) == CE_None);
  GDALClose(set);
  work_mix();
  set = GDALOpen("/vsimem/work.tif", GA_ReadOnly);
  double minimum, maximum, mean, deviation;
  WORK(set != NULL &&
       GDALComputeRasterStatistics(GDALGetRasterBand(set, 1), FALSE, &minimum, &maximum, &mean,
                                   &deviation, NULL, NULL) == CE_None);
  GDALClose(set);
  VSIUnlink("/vsimem/work.tif");
  OGRSpatialReferenceH from = OSRNewSpatialReference(NULL), to = OSRNewSpatialReference(NULL);
  OSRImportFromEPSG(from, 4326);
  OSRImportFromEPSG(to, 32633);
  OSRSetAxisMappingStrategy(from, OAMS_TRADITIONAL_GIS_ORDER);
  OGRCoordinateTransformationH change = OCTNewCoordinateTransformation(from, to);
  work_mix();
  WORK(change != NULL && OCTTransform(change, 1, &east, &north, NULL));
  OCTDestroyCoordinateTransformation(change);
  OSRDestroySpatialReference(from);
  OSRDestroySpatialReference(to);
  return work_end(sum + mean + deviation + east + north + GDALGetDriverCount());
}
